# SPDX-License-Identifier: MIT
# An iterator of at most 256 numbers takes too few iterations to matter.
# expect: accept
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
ldxw %r3, [%r6+64]
and %r3, 255
call 0x10001
iter_next -8
iter_end -8
ldxw %r1, [%r6+28]
and %r1, 0xffff
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
