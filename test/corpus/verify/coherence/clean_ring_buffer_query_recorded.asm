# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
lddw map %r1, @ring
mov %r2, 0
call 134
lddw map_value %r1, @bss, 0
stxdw [%r1], %r0
stw [%r6+76], 4
mov %r0, 0
exit
