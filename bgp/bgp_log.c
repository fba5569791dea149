/* SPDX-License-Identifier: BSD-2-Clause */
#include "bgp_log.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>

enum { BGP_LOG_BURST = 20 };
#define BGP_LOG_REFILL_NS 1000000000ull

void bgp_log_init(struct bgp_log *log, const struct bgp_source_handlers *handlers, void *arg)
{
	*log = (struct bgp_log){.on_log = handlers->on_log, .arg = arg, .tokens = BGP_LOG_BURST};
}

static bool bgp_log_may(struct bgp_log *log, uint64_t now_ns)
{
	uint64_t earned = (now_ns - log->refilled_ns) / BGP_LOG_REFILL_NS;

	if (earned > 0) {
		log->refilled_ns = now_ns;
		log->tokens = earned >= BGP_LOG_BURST - log->tokens
				      ? BGP_LOG_BURST
				      : log->tokens + (unsigned)earned;
	}
	if (log->tokens == 0) {
		log->held_back++;
		return false;
	}
	log->tokens--;
	return true;
}

void bgp_log(struct bgp_log *log, uint64_t now_ns, int priority, const char *format, ...)
{
	char line[512];
	va_list args;
	int n;

	if (!bgp_log_may(log, now_ns))
		return;
	va_start(args, format);
	n = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (log->held_back > 0 && n >= 0 && (size_t)n < sizeof(line))
		snprintf(line + n, sizeof(line) - (size_t)n, " held_back=%u", log->held_back);
	log->held_back = 0;
	log->on_log(log->arg, priority, line);
}

const char *bgp_log_address(const struct in6_addr *address, char text[BGP_LOG_ADDRESS_BYTES])
{
	if (IN6_IS_ADDR_V4MAPPED(address))
		return inet_ntop(AF_INET, address->s6_addr + 12, text, BGP_LOG_ADDRESS_BYTES);
	return inet_ntop(AF_INET6, address, text, BGP_LOG_ADDRESS_BYTES);
}
