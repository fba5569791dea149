#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Every constant of health/health_limits.h has a row in docs/health.md, and every row's constant exists.
set -u
cd "$(dirname "$0")/../.." || exit 1
names() { grep -o 'HEALTH_[A-Z_]*' "$1" | sort -u | grep -vx 'HEALTH_LIMITS_H\|HEALTH_MS_NS'; }
if ! diff <(sed -n 's/^#define \(HEALTH_[A-Z_]*\)\s.*/\1/p' health/health_limits.h | grep -vx HEALTH_MS_NS | sort -u) \
	<(grep '^|' docs/health.md | names /dev/stdin); then
	echo "FAILED: < only in health/health_limits.h, > only in docs/health.md"
	exit 1
fi
echo ok
