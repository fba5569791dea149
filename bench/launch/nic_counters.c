/* SPDX-License-Identifier: BSD-2-Clause */
#include "launch/nic_counters.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define NIC_MAX_COUNTERS 65536
#define NIC_MAX_DEPTH	 16
#define NIC_KEY_MAX	 256

/* '#': a digit. Of a class the most exact first. Whose they are stands behind them. */
static const struct {
	enum nic_class class;
	const char *name;
} nic_names[] = {
	{NIC_PAUSES_RX, "rx_prio#_pause"},		      /* mlx5 */
	{NIC_PAUSES_RX, "rx_pfc_ena_frames_pri#"},	      /* bnxt */
	{NIC_PAUSES_RX, "rx_priority_#_xoff.nic"},	      /* ice */
	{NIC_PAUSES_RX, "port.rx_priority_#_xoff"},	      /* i40e */
	{NIC_PAUSES_RX, "SAI_PORT_STAT_PFC_#_RX_PKTS"},	      /* switches with SAI, as SONiC */
	{NIC_PAUSES_RX, "rx_pause_ctrl_phy"},		      /* mlx5, no priorities */
	{NIC_PAUSES_RX, "rx_pause_frames"},		      /* bnxt, no priorities */
	{NIC_PAUSES_RX, "SAI_PORT_STAT_PAUSE_RX_PKTS"},	      /* SAI, no priorities */
	{NIC_PAUSES_TX, "tx_prio#_pause"},		      /* mlx5 */
	{NIC_PAUSES_TX, "tx_pfc_ena_frames_pri#"},	      /* bnxt */
	{NIC_PAUSES_TX, "tx_priority_#_xoff.nic"},	      /* ice */
	{NIC_PAUSES_TX, "port.tx_priority_#_xoff"},	      /* i40e */
	{NIC_PAUSES_TX, "SAI_PORT_STAT_PFC_#_TX_PKTS"},	      /* SAI */
	{NIC_PAUSES_TX, "tx_pause_ctrl_phy"},		      /* mlx5, no priorities */
	{NIC_PAUSES_TX, "tx_pause_frames"},		      /* bnxt, no priorities */
	{NIC_PAUSES_TX, "SAI_PORT_STAT_PAUSE_TX_PKTS"},	      /* SAI, no priorities */
	{NIC_ECN_MARKED, "np_ecn_marked_roce_packets"},	      /* mlx5 */
	{NIC_ECN_MARKED, "rx_ecn_marked_pkts"},		      /* bnxt_re */
	{NIC_ECN_MARKED, "RxECNMrkd"},			      /* irdma */
	{NIC_ECN_MARKED, "SAI_PORT_STAT_ECN_MARKED_PACKETS"}, /* SAI */
	{NIC_CNPS_TX, "np_cnp_sent"},			      /* mlx5 */
	{NIC_CNPS_TX, "tx_cnp_pkts"},			      /* bnxt_re */
	{NIC_CNPS_TX, "cnpSent"},			      /* irdma */
	{NIC_CNPS_RX, "rp_cnp_handled"},		      /* mlx5 */
	{NIC_CNPS_RX, "rx_cnp_pkts"},			      /* bnxt_re */
	{NIC_CNPS_RX, "cnpHandled"},			      /* irdma */
	{NIC_CRC_ERRORS, "rx_crc_errors_phy"},		      /* mlx5 */
	{NIC_CRC_ERRORS, "rx_fcs_err_frames"},		      /* bnxt */
	{NIC_CRC_ERRORS, "rx_crc_errors.nic"},		      /* ice */
	{NIC_CRC_ERRORS, "port.rx_crc_errors"},		      /* i40e */
	{NIC_CRC_ERRORS, "rx_crc_errors"},		      /* the kernel's, of every interface */
	{NIC_FEC_UNCORRECTED, "rx_fec_uncorrectable_blocks"}, /* bnxt */
	{NIC_FEC_UNCORRECTED, "SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES"}, /* SAI */
	{NIC_RDMA_RX, "rx_vport_rdma_unicast_packets"},				 /* mlx5 */
	{NIC_RDMA_RX, "rx_roce_only_pkts"},					 /* bnxt_re */
	{NIC_RDMA_RX, "rcvd_pkts"},						 /* rxe */
};

#define NIC_NAMES (sizeof(nic_names) / sizeof(nic_names[0]))

const char *nic_class_name(enum nic_class of)
{
	static const char *const names[] = {
		[NIC_PAUSES_RX] = "pause frames received",
		[NIC_PAUSES_TX] = "pause frames sent",
		[NIC_ECN_MARKED] = "packets with congestion experienced",
		[NIC_CNPS_TX] = "CNPs sent",
		[NIC_CNPS_RX] = "CNPs received",
		[NIC_CRC_ERRORS] = "CRC errors",
		[NIC_FEC_UNCORRECTED] = "blocks that FEC could not correct",
		[NIC_RDMA_RX] = "RDMA packets received"};

	return names[of];
}

/* Does the key end with that name, behind a dot? */
static bool nic_is(const char *key, const char *name)
{
	size_t length = strlen(key), n = strlen(name);
	const char *at = key + length - n;

	if (length <= n || at[-1] != '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (name[i] == '#' ? !isdigit((unsigned char)at[i]) : name[i] != at[i])
			return false;
	return true;
}

/* Its place in the table; NIC_NAMES: it is of no class. */
static size_t nic_find(const char *key)
{
	size_t i = 0;

	while (i < NIC_NAMES && !nic_is(key, nic_names[i].name))
		i++;
	return i;
}

bool nic_counter_is_known(const char *key)
{
	return nic_find(key) < NIC_NAMES;
}

/* "DEVICE CLASS": the best name of that class that the device has. */
static void nic_slot(const char *key, enum nic_class of, char out[NIC_KEY_MAX])
{
	snprintf(out, NIC_KEY_MAX, "%.*s %d", (int)strcspn(key, "."), key, (int)of);
}

static int nic_best(const json_t *after, json_t *best)
{
	const char *key;
	json_t *value;
	int err = 0;

	json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
		size_t place = nic_find(key);
		char slot[NIC_KEY_MAX];
		const json_t *is;

		if (place == NIC_NAMES || !json_is_integer(value))
			continue;
		nic_slot(key, nic_names[place].class, slot);
		is = json_object_get(best, slot);
		if (!is || (json_int_t)place < json_integer_value(is))
			err |= json_object_set_new(best, slot, json_integer((json_int_t)place));
	}
	return err ? -ENOMEM : 0;
}

uint64_t nic_pauses(const struct nic_counts *nics, const struct nic_counts *switches, bool *known)
{
	bool sent = switches->known[NIC_PAUSES_TX], received = switches->known[NIC_PAUSES_RX];

	*known = sent || received || nics->known[NIC_PAUSES_RX] || nics->known[NIC_PAUSES_TX];
	if (sent)
		return switches->grown[NIC_PAUSES_TX] + nics->grown[NIC_PAUSES_TX];
	if (received)
		return switches->grown[NIC_PAUSES_RX] + nics->grown[NIC_PAUSES_RX];
	return nics->grown[NIC_PAUSES_RX] + nics->grown[NIC_PAUSES_TX];
}

/* The rate of marks is of machines that count both, marks and packets. */
static void nic_counts_sum(struct nic_counts *counts, const struct nic_counts *one)
{
	for (int i = 0; i < NIC_CLASSES; i++) {
		counts->known[i] |= one->known[i];
		counts->grown[i] += one->grown[i];
	}
	if (!one->known[NIC_ECN_MARKED] || !one->known[NIC_RDMA_RX])
		return;
	counts->marked += one->grown[NIC_ECN_MARKED];
	counts->marked_of += one->grown[NIC_RDMA_RX];
}

int nic_counts_add(struct nic_counts *counts, const json_t *before, const json_t *after)
{
	struct nic_counts one = {.known = {false}};
	json_t *best = json_object(), *value;
	int err = best ? nic_best(after, best) : -ENOMEM;
	const char *key;

	json_object_foreach ((json_t *)(uintptr_t)after, key, value) {
		size_t place = err ? NIC_NAMES : nic_find(key);
		const json_t *was = json_object_get(before, key);
		char slot[NIC_KEY_MAX];
		json_int_t grew;

		if (place == NIC_NAMES || !json_is_integer(value) || !json_is_integer(was))
			continue;
		nic_slot(key, nic_names[place].class, slot);
		if (json_integer_value(json_object_get(best, slot)) != (json_int_t)place)
			continue;
		grew = json_integer_value(value) - json_integer_value(was);
		one.known[nic_names[place].class] = true;
		one.grown[nic_names[place].class] += grew > 0 ? (uint64_t)grew : 0;
	}
	nic_counts_sum(counts, &one);
	json_decref(best);
	return err;
}

void nic_counts_show(const struct nic_counts *counts, char *out, size_t size)
{
	size_t used = 0;

	*out = '\0';
	for (int i = 0; i < NIC_CLASSES && used < size; i++)
		if (counts->known[i])
			used += (size_t)snprintf(out + used, size - used, "%s%s %llu",
						 used ? ", " : "",
						 nic_class_name((enum nic_class)i),
						 (unsigned long long)counts->grown[i]);
}

/* ---- what a switch printed ---- */

static void nic_keep(json_t *all, const char *key, json_int_t value)
{
	if (value >= 0 && json_object_size(all) < NIC_MAX_COUNTERS)
		json_object_set_new(all, key, json_integer(value));
}

/* "1,234" as well. False: it is no number. */
static bool nic_number(const char *text, size_t length, json_int_t *out)
{
	json_int_t value = 0;

	if (length == 0)
		return false;
	for (size_t i = 0; i < length; i++) {
		if (text[i] == ',' && i > 0)
			continue;
		if (!isdigit((unsigned char)text[i]) || value > (INT64_MAX - 9) / 10)
			return false;
		value = value * 10 + (text[i] - '0');
	}
	*out = value;
	return true;
}

static void nic_of_json(json_t *all, const char *path, const json_t *node, int depth)
{
	char key[NIC_KEY_MAX], index[24];
	const char *name;
	json_int_t value;
	json_t *child;
	size_t i;

	if (depth > NIC_MAX_DEPTH)
		return;
	if (json_is_integer(node))
		nic_keep(all, path, json_integer_value(node));
	else if (json_is_string(node) &&
		 nic_number(json_string_value(node), json_string_length(node), &value))
		nic_keep(all, path, value);
	json_object_foreach ((json_t *)(uintptr_t)node, name, child)
		if ((size_t)snprintf(key, sizeof(key), "%s.%s", path, name) < sizeof(key))
			nic_of_json(all, key, child, depth + 1);
	json_array_foreach (node, i, child) {
		snprintf(index, sizeof(index), "%zu", i);
		if ((size_t)snprintf(key, sizeof(key), "%s.%s", path, index) < sizeof(key))
			nic_of_json(all, key, child, depth + 1);
	}
}

/* A line that ends with a number and has one word before it. Names that come again (a port each)
 * get the line's number. */
static void nic_of_line(json_t *all, const char *device, const char *line, size_t length,
			size_t number)
{
	char key[NIC_KEY_MAX];
	size_t name = 0, at, end = length;
	json_int_t value;

	while (length && isspace((unsigned char)*line)) {
		line++;
		end = --length;
	}
	while (end && isspace((unsigned char)line[end - 1]))
		end--;
	while (name < end && !isspace((unsigned char)line[name]) && line[name] != ':' &&
	       line[name] != '=')
		name++;
	at = name;
	while (at < end && (isspace((unsigned char)line[at]) || line[at] == ':' || line[at] == '='))
		at++;
	if (name && at > name && nic_number(line + at, end - at, &value) &&
	    (size_t)snprintf(key, sizeof(key), "%s.%zu.%.*s", device, number, (int)name, line) <
		    sizeof(key))
		nic_keep(all, key, value);
}

json_t *nic_counters_of_text(const char *device, const char *text, size_t length)
{
	json_t *all = json_object(), *root = all ? json_loadb(text, length, 0, NULL) : NULL;

	if (root)
		nic_of_json(all, device, root, 0);
	for (size_t number = 0; all && !root && length > 0; number++) {
		const char *end = memchr(text, '\n', length);
		size_t width = end ? (size_t)(end - text) : length;

		nic_of_line(all, device, text, width, number);
		text += width + (end != NULL);
		length -= width + (end != NULL);
	}
	json_decref(root);
	return all;
}
