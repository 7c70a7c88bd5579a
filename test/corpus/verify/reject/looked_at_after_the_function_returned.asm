# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 5
# A function called with cells of its own in between changes nothing.
# near: stdw [%r10-8], 0
ldxw %r2, [%r1+24]
jeq %r2, 0, join
stdw [%r10-8], 1
join:
ldxw %r1, [%r1+28]
call local f
ldxdw %r3, [%r10-8]
mov %r0, 0
exit
f:
stdw [%r10-8], 1
jeq %r1, 0, +1
mov %r1, 1
mov %r0, %r1
ldxdw %r2, [%r10-8]
exit
