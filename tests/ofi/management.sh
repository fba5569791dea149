# SPDX-License-Identifier: BSD-2-Clause
# A management network for the GPU servers of a lab, as clusters have one beside the fabric: launchers and the control
# connections of tools go there. Sourced; the bridge is in a namespace of its own, and goes with it.

# management_up LAB SERVERS: server i gets 10.99.0.(i + 1) on "mgmt"
management_up() {
	local lab=$1 n=$2 i hub="fl-$1-mgmt"
	ip netns add "$hub" && ip -n "$hub" link add hub type bridge && ip -n "$hub" link set hub up || return 1
	for ((i = 0; i < n; i++)); do
		ip -n "$hub" link add "m$i" type veth peer name mgmt netns "fl-$lab-s$i" &&
			ip -n "$hub" link set "m$i" master hub up &&
			ip -n "fl-$lab-s$i" addr add "10.99.0.$((i + 1))/24" dev mgmt &&
			ip -n "fl-$lab-s$i" link set mgmt up || return 1
	done
}

management_down() {
	ip netns del "fl-$1-mgmt" 2>/dev/null
}
