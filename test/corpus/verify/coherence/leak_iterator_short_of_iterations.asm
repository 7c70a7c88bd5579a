# SPDX-License-Identifier: MIT
# An iterator ends early when the iterations of the run are used up.
# expect: reject local_output 46
# flow: loop count
mov %r6, %r1
mov %r7, 0
repeat 5 1 1
ldxw %r1, [%r6+64]
bpf_loop cb
end
iter_new -8, 0, 10000 # near: iter_new -8, 0, 0
n:
iter_next -8
jeq %r0, 0, d
add %r7, 1
ja n
d:
iter_end -8
stxw [%r6+76], %r7
mov %r0, 0
exit
