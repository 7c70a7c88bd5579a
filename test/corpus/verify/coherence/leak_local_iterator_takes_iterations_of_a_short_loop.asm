# SPDX-License-Identifier: MIT
# An iterator of local length may take all iterations, so that few are too many.
# expect: reject local_output 21
# flow: loop count
mov %r6, %r1
mov %r1, %r10
add %r1, -8
mov %r2, 0
ldxw %r3, [%r6+64] # near: ldxw %r3, [%r6+60]
call 0x10001
iter_next -8
iter_next -8
iter_end -8
mov %r1, 1000
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
