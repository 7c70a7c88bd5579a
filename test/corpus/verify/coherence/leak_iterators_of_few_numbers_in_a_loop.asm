# SPDX-License-Identifier: MIT
# Of short iterators only the first of a run give all their numbers.
# expect: reject local_output 60
# flow: loop count
mov %r6, %r1
mov %r7, 0
repeat 5 1 1
ldxw %r1, [%r6+64]
bpf_loop cb
end
mov %r1, %r10
add %r1, -8
mov %r2, 0
ldxw %r3, [%r6+28] # near: mov %r3, 8
and %r3, 0xff # near:
call 0x10001
o:
iter_next -8
jeq %r0, 0, oe
iter_new -16, 0, 8
n:
iter_next -16
jeq %r0, 0, ne
add %r7, 1
ja n
ne:
iter_end -16
ja o
oe:
iter_end -8
stxw [%r6+76], %r7
mov %r0, 0
exit
