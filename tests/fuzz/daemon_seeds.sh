#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# daemon_seeds.sh - makes fuzz_daemon's corpus of the other targets': each part as one operation of a script (fuzz_daemon.c).
# usage: tests/fuzz/daemon_seeds.sh    in the top directory
set -e
corpus=tests/fuzz/corpus out=tests/fuzz/corpus/fuzz_daemon
mkdir -p "$out"
be16() { printf "\\x$(printf %02x $(($1 >> 8 & 255)))\\x$(printf %02x $(($1 & 255)))"; }
# op NUMBER WHO < octets
op() {
	local part
	part=$(mktemp)
	cat >"$part"
	printf "\\x$(printf %02x "$1")\\x$(printf %02x "$2")"
	be16 "$(stat -c %s "$part")"
	cat "$part"
	rm "$part"
}
bmp() { op 0 0 <"$corpus/fuzz_bmp_parse/$1"; }
zserv() { tail -c +2 "$corpus/fuzz_zapi_parse/$1" | op 1 0; } # its first octet picks a release
ask() { printf %s "$2" | op "$1" "${3:-1}"; }
probe() { op 4 "$2" <"$corpus/fuzz_sbfd_wire/$1"; }
answer() { printf '' | op 5 0; }
link() { printf '' | op 6 "$1"; }
ms() { be16 "$1" | op 7 0; }
reload() { printf '' | op 8 "$1"; }
answered() { for _ in 1 2 3 4 5 6; do ms 4; answer; done; }

{ bmp initial-table; zserv initial-table; answered; ask 2 '{"cmd":"paths"}'; } >"$out/up"
{ bmp initial-table; answered; bmp sub-link-down; bmp leaf-killed-and-back; answered; } >"$out/leaf"
{ bmp initial-table; answered; link 0; ms 20; ask 2 '{"cmd":"planes"}'; link 4; answered; } >"$out/link"
{ bmp initial-table; ms 4; ms 4; ms 4; ms 4; ask 2 '{"cmd":"events"}'; answered; } >"$out/silent"
{ bmp initial-table; op 0 0 </dev/null; ms 200; bmp initial-table; answered; ms 65000; ms 65000; } >"$out/bmp-gone"
{ bmp initial-table; bmp not-bmp; ms 200; bmp initial-table; } >"$out/bmp-garbage"
{ zserv initial-table; zserv not-zapi; ms 200; zserv interfaces; zserv initial-table; } >"$out/zserv-garbage"
{ bmp initial-table; reload 1; bmp ipv6; reload 2; zserv ipv6; reload 4; reload 8; } >"$out/reloads"
{ bmp initial-table; for p in "$corpus"/fuzz_sbfd_wire/*; do probe "$(basename "$p")" 0; done; } >"$out/probes"
{ bmp initial-table; answered; for p in echo notice ack heard; do probe $p 1; probe $p 10; done; } >"$out/data-probes"
{ for r in "$corpus"/fuzz_control/*; do ask 2 "$(cat "$r")"; done; } >"$out/requests"
{ ask 3 '{"cmd":"watch"}'; bmp initial-table; answered; ask 2 '{"cmd":"trace","peer":"198.19.0.2","plane":0}' 1; ms 4; answer; } >"$out/watch"
{
	bmp initial-table; answered
	ask 2 '{"cmd":"drain","peer":"all","plane":0}'; ask 2 '{"cmd":"drain","peer":"198.19.0.2"}'; ms 10; ask 2 '{"cmd":"drains"}'
	ask 2 '{"cmd":"undrain","peer":"all","plane":0}'; ask 2 '{"cmd":"undrain","peer":"198.19.0.2"}'
} >"$out/drains"
{ ask 2 '{"cmd":"reload","confirm_s":5}'; ms 6000; ask 2 '{"cmd":"confirm"}'; ask 2 '{"cmd":"config"}'; } >"$out/confirm"
