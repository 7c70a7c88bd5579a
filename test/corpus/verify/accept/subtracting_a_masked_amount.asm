# SPDX-License-Identifier: MIT
# the kernel refuses this one
# expect: accept
find @counts
ldxdw %r1, [%r0]
and %r1, 7
add %r0, 8
sub %r0, %r1
ldxb %r2, [%r0]
