# SPDX-License-Identifier: MIT
# Sourced in the guest: two SoftRoCE adapters, rxe0 and rxe1, with a wire (a veth
# pair) between them, in one network namespace: rxe of Linux 6.1 listens in the
# first namespace alone. A packet from one address of a host to another of its own
# goes through lo, where no adapter hears it; so the routing table "local" is asked
# after rules by output device.
modprobe rdma_rxe
ip link add v0 type veth peer name v1
ip addr add 10.9.0.1/24 dev v0
ip addr add 10.9.0.2/24 dev v1
for i in all v0 v1; do
	echo 0 >/proc/sys/net/ipv4/conf/$i/rp_filter
	echo 1 >/proc/sys/net/ipv4/conf/$i/accept_local
done
# the MTU of RDMA is 1,024 bytes, and a packet has headers
ip link set v0 mtu 4200 up
ip link set v1 mtu 4200 up
ip rule add pref 1 iif v0 lookup local
ip rule add pref 2 iif v1 lookup local
ip rule add pref 3 oif v0 lookup 100
ip rule add pref 4 oif v1 lookup 101
ip route add 10.9.0.2/32 dev v0 src 10.9.0.1 table 100
ip route add 10.9.0.1/32 dev v1 src 10.9.0.2 table 101
ip rule add pref 10 lookup local
ip rule del pref 0
rdma link add rxe0 type rxe netdev v0
rdma link add rxe1 type rxe netdev v1
n=0
until [ "$(rdma link | grep -c ACTIVE)" -ge 2 ] || [ $((n += 1)) -gt 100 ]; do sleep 0.1; done
