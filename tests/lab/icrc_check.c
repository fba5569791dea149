/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * icrc_check.c - checks the ICRC of every RoCEv2 frame in a capture, from the bytes on the wire
 * alone.
 *
 * Shares no code with the provider: its own pcap reader, its own bitwise CRC. Prints how many
 * frames were right; status 0 only if there was at least one and none was wrong.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ETHERNET      14
#define FRAME_MAX     (256 << 10)
#define PCAP_MAGIC    0xa1b2c3d4
#define PCAP_MAGIC_NS 0xa1b23c4du /* times in nanoseconds: dumpcap of Wireshark 4.4 */

static uint32_t crc_bytes(uint32_t crc, const uint8_t *data, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		crc ^= data[i];
		for (unsigned k = 0; k < 8; k++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return crc;
}

static unsigned get16(const uint8_t *at)
{
	return (unsigned)at[0] << 8 | at[1];
}

/* -1: no RoCEv2 frame; 0: wrong; 1: right. The frame is masked in place. */
static int check_frame(uint8_t *frame, size_t bytes)
{
	unsigned type = bytes > ETHERNET ? get16(frame + 12) : 0;
	size_t ip_bytes = type == 0x0800 ? 20 : type == 0x86dd ? 40 : 0, udp_bytes;
	uint8_t *ip = frame + ETHERNET, *udp = ip + ip_bytes, ones[8];
	uint32_t crc, stored;

	if (!ip_bytes || bytes < ETHERNET + ip_bytes + 8 + 16)
		return -1;
	if (ip[ip_bytes == 20 ? 9 : 6] != 17 || get16(udp + 2) != 4791)
		return -1;
	udp_bytes = get16(udp + 4);
	if (bytes < ETHERNET + ip_bytes + udp_bytes || udp_bytes < 8 + 16)
		return 0;
	if (ip_bytes == 20) {
		ip[1] = ip[8] = ip[10] = ip[11] = 0xff;
	} else {
		ip[0] |= 0x0f;
		ip[1] = ip[2] = ip[3] = ip[7] = 0xff;
	}
	udp[6] = udp[7] = udp[8 + 4] = 0xff;
	memset(ones, 0xff, sizeof(ones));
	crc = crc_bytes(0xffffffff, ones, sizeof(ones));
	crc = ~crc_bytes(crc, ip, ip_bytes + udp_bytes - 4);
	udp += udp_bytes - 4;
	stored = (uint32_t)udp[0] | (uint32_t)udp[1] << 8 | (uint32_t)udp[2] << 16 |
		 (uint32_t)udp[3] << 24;
	return crc == stored;
}

static int fail(const char *what)
{
	fprintf(stderr, "icrc_check: %s\n", what);
	return 2;
}

int main(int argc, char **argv)
{
	static uint8_t frame[FRAME_MAX];
	uint32_t file_header[6], header[4];
	unsigned right = 0, wrong = 0, other = 0;
	FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;

	if (!f)
		return fail("usage: icrc_check FILE.pcap");
	if (fread(file_header, sizeof(file_header), 1, f) != 1 ||
	    (file_header[0] != PCAP_MAGIC && file_header[0] != PCAP_MAGIC_NS) ||
	    (file_header[5] & 0xffff) != 1)
		return fail("not a classic pcap file of Ethernet frames");
	while (fread(header, sizeof(header), 1, f) == 1) {
		if (header[2] > sizeof(frame) || header[2] != header[3])
			return fail("a frame was cut");
		if (fread(frame, header[2], 1, f) != 1)
			return fail("the file ends in a frame");
		switch (check_frame(frame, header[2])) {
		case 1:
			right++;
			break;
		case 0:
			wrong++;
			break;
		default:
			other++;
		}
	}
	fclose(f);
	printf("icrc: %u right, %u wrong, %u other frames\n", right, wrong, other);
	return right && !wrong ? 0 : 1;
}
