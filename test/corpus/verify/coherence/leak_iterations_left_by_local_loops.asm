# SPDX-License-Identifier: MIT
# A run has 2^25 iterations; four loops of 2^23 may use them up, so what the fifth
# can take depends on local data.
# expect: reject local_output 31
# flow: loop count
mov %r6, %r1
repeat 4 1 1
ldxw %r1, [%r6+64]
bpf_loop cb
end
ldxw %r1, [%r6+28]
bpf_loop cb
# near: mov %r0, 0
stxw [%r6+76], %r0
mov %r0, 0
exit
