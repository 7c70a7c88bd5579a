# SPDX-License-Identifier: MIT
# expect: accept
# opts: held
mov %r6, %r1
lddw map_value %r1, @bss, 0
mov %r2, 32
mov %r3, 0
mov %r4, %r10
add %r4, -16
call 197
mov %r1, %r10
add %r1, -16
mov %r2, 0
mov %r3, 8
call 203
jeq %r0, 0, out
stdw [%r0], 1
out:
stw [%r6+76], 4
mov %r0, 0
exit
