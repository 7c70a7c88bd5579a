# SPDX-License-Identifier: MIT
# golden
# expect: reject reserve_size 5
# opts: held
ldxw %r2, [%r1+32]
and %r2, 15 # near: and %r2, 0
lddw map %r1, @ring
mov %r3, 0
call 131
jeq %r0, 0, out
mov %r1, %r0
mov %r2, 0
call 132
out:
mov %r0, 0
exit
