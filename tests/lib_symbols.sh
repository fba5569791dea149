# SPDX-License-Identifier: BSD-2-Clause
# lib_symbols.sh LIBRARY: the shared library exports what fare.h declares, versioned, and nothing else.
set -u
here=$(dirname "${BASH_SOURCE[0]}")
exported=$(nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort)
headers=("$here"/../sched/fare.h "$here"/../sched/fare_spray_inline.h "$here"/../sched/fare_verdict.h)
names() { grep -oE '\bfare_[a-z0-9_]+\(' | tr -d '(' | sort -u; }
inline=$(grep -hE '^static inline ' "${headers[@]}" | names)
declared=$(cat "${headers[@]}" | names | grep -vxF -e "$inline")
failed=0
for symbol in $exported; do
	case $symbol in
	fare_*@@FARE_0.1) ;;
	*) echo "exported, and should not be: $symbol"; failed=1 ;;
	esac
done
for symbol in $declared; do
	grep -qx "$symbol@@FARE_0.1" <<<"$exported" || { echo "declared, but not exported: $symbol"; failed=1; }
done
readelf -d "$1" | grep -q 'SONAME.*\[libfare.so.1\]' || { echo "no SONAME libfare.so.1"; failed=1; }
echo "$(wc -w <<<"$exported") symbols"
exit $failed
