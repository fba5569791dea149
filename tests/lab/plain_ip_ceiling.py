#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""plain_ip_ceiling.py - what hashing alone leaves of goodput in plain_ip.sh: 64 connections choose a sub-port by chance at the server,
weighted as the routes are, and again at the leaf, and share the links as TCP aims to (max-min fair). Over what the links carry: the
worst hundredth, the worst tenth and the median of 2,000 draws."""
import random

CONNECTIONS, DRAWS, SEED = 64, 2000, 1


def max_min(paths, links):
    """The sum of all rates: all grow alike, until a link of theirs is full."""
    left, live, total = dict.fromkeys(links, 1.0), list(paths), 0.0
    while live:
        users = {link: sum(link in path for path in live) for link in left}
        step = min(left[link] / n for link, n in users.items() if n)
        total += step * len(live)
        for link, n in users.items():
            left[link] -= step * n
        live = [path for path in live if all(left[link] > 1e-9 for link in path)]
    return total


def draw(rng, remote):
    """remote: of each plane in use, the peer's sub-ports."""
    near = [(plane, sub) for plane in remote for sub in range(2)]
    links = [("up", *hop) for hop in near] + [("down", plane, sub) for plane in remote for sub in remote[plane]]
    hops = rng.choices(near, [len(remote[plane]) for plane, _ in near], k=CONNECTIONS)
    paths = [(("up", *hop), ("down", hop[0], rng.choice(remote[hop[0]]))) for hop in hops]
    return max_min(paths, links) / sum(map(len, remote.values()))


whole = {plane: [0, 1] for plane in range(4)}
states = {"healthy": whole, "a plane less": {p: whole[p] for p in (0, 2, 3)}, "a remote sub-port less": {**whole, 2: [1]}}
for state, remote in states.items():
    rng = random.Random(SEED)
    shares = sorted(draw(rng, remote) for _ in range(DRAWS))
    print(f"{state:24}" + "  ".join(f"{shares[int(DRAWS * q)]:.3f}" for q in (0.01, 0.1, 0.5)))
