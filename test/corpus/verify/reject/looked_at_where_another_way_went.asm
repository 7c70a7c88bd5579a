# SPDX-License-Identifier: MIT
# expect: reject stack_uninit 8
# The way walked first wrote the bytes by another route.
# near: stdw [%r10-8], 0
ldxw %r2, [%r1+24]
jeq %r2, 0, other
stdw [%r10-8], 1
ja common
other:
ldxw %r2, [%r1+28]
jeq %r2, 0, join
stdw [%r10-8], 1
join:
mov %r2, 0
common:
ldxdw %r3, [%r10-8]
mov %r0, 0
exit
