# SPDX-License-Identifier: BSD-2-Clause
# jq_true ARG...: whether jq's last answer is neither false nor null. Use it in place of `jq -e`, for which jq 1.6 says yes when it
# reads nothing at all: what waits on a program's answer would not wait for one that does not run yet.
jq_true() {
	local answer
	answer=$(command jq -c "$@" 2>/dev/null | tail -n 1)
	[ -n "$answer" ] && [ "$answer" != false ] && [ "$answer" != null ]
}
