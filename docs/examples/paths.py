#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""paths.py [RUN_DIR [PEER]]: the paths to a peer GPU, from Python: structures and types are those of fare(3)."""
import ctypes
import errno
import ipaddress
import sys


class Path(ctypes.Structure):
    _fields_ = [("usable_bps", ctypes.c_uint64), ("verdict", ctypes.c_int),
                ("live_sub_ports", ctypes.c_uint32), ("n_sub_ports", ctypes.c_uint32)]


class Paths(ctypes.Structure):
    _fields_ = [("generation", ctypes.c_uint64), ("n_planes", ctypes.c_uint), ("path", Path * 16)]


run_dir, peer = (sys.argv[1:] + ["/run/fared", "198.19.0.2"][len(sys.argv) - 1:])[:2]
lib = ctypes.CDLL("libfare.so.1")
lib.fare_verdict_name.restype = ctypes.c_char_p
fare, pair, paths = ctypes.c_void_p(), ctypes.c_void_p(), Paths()
address = ipaddress.ip_address(peer)
address = address.packed if address.version == 6 else bytes(10) + b"\xff\xff" + address.packed  # ::ffff:a.b.c.d

rc = lib.fare_attach(ctypes.byref(fare), run_dir.encode())
if not rc:
    rc = lib.fare_pair_open(ctypes.byref(pair), fare, ctypes.c_uint(0), address)
while not rc:
    rc = lib.fare_pair_paths(pair, ctypes.byref(paths))
    if rc != -errno.EAGAIN:  # the daemon was writing
        break
    rc = 0
if rc:
    sys.exit(f"{run_dir}: {errno.errorcode[-rc]}")
for plane in range(paths.n_planes):
    path = paths.path[plane]
    print(plane, lib.fare_verdict_name(path.verdict).decode(), f"{path.usable_bps / 1e9:g} Gb/s")
