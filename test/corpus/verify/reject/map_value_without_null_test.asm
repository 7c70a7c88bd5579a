# SPDX-License-Identifier: MIT
# expect: reject nullable 6
stw [%r10-4], 4
mov %r2, %r10
add %r2, -4
lddw map %r1, @counts
call 1
# near: jeq %r0, 0, out
ldxdw %r1, [%r0]
# near: out:
mov %r0, 0
exit
