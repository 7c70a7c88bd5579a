# SPDX-License-Identifier: MIT
# After four loops on one way the last one may be short of iterations; after none on
# the other it is not.
# expect: reject local_output 47
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
bpf_loop cb

ldxw %r1, [%r6+28]
jeq %r1, 3, more
ja s
more:
repeat 4 1 1
ldxw %r1, [%r6+28]
and %r1, 255
bpf_loop cb
end

s:
mov %r0, 0
ldxw %r1, [%r6+28]
and %r1, 255
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
