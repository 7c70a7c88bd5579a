# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 8
# The same bytes are read by a function that gets their address.
# near: stdw [%r10-8], 0
ldxw %r2, [%r1+24]
jeq %r2, 0, join
stdw [%r10-8], 1
join:
mov %r1, %r10
add %r1, -8
call local f
mov %r0, 0
exit
f:
ldxdw %r0, [%r1]
exit
