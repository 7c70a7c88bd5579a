# SPDX-License-Identifier: MIT
# expect: reject reserve_size 4
ldxw %r2, [%r1+32]
# near: jne %r2, 24, out
lddw map %r1, @ring
mov %r3, 0
call 131
jeq %r0, 0, out
# near: stdw [%r0+16], 1
submit %r0
