# SPDX-License-Identifier: MIT
# golden
# expect: reject reserve_size 5
ldxw %r2, [%r1+32]
and %r2, 15 # near: and %r2, 0
lddw map %r1, @ring
mov %r3, 0
call 131
jeq %r0, 0, out
submit %r0
