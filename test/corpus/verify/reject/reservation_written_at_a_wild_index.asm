# SPDX-License-Identifier: MIT
# expect: reject memory_bounds 10
ldxw %r6, [%r1+32]
and %r6, 15 # near: and %r6, 8
reserve 16
jeq %r0, 0, out
mov %r1, %r0
add %r6, %r1
stdw [%r6], 1
mov %r2, 0
call 132
