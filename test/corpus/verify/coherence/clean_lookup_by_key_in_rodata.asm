# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
lddw map_value %r2, @rodata, 0
lddw map %r1, @chosen
call 1
jeq %r0, 0, out
stw [%r6+76], 4
