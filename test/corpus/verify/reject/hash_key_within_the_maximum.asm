# SPDX-License-Identifier: MIT
# expect: reject nullable 6
# A hash has no element at a key because it has room for it.
stdw [%r10-8], 0
mov %r2, %r10
add %r2, -8
lddw map %r1, @seen
call 1
# near: jeq %r0, 0, out
ldxdw %r1, [%r0]
# near: out:
mov %r0, 0
exit
