# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r1, [%r1+28]
stdw [%r10-8], 0
bpf_loop_on cb, -8
mov %r0, 0
exit
cb:
mov %r6, %r2
mov %r3, %r1
iter_over -8, 0
next:
iter_next -8
jeq %r0, 0, done
ldxdw %r1, [%r6]
add %r1, 1
stxdw [%r6], %r1
ja next
done:
iter_end -8
mov %r0, 0
exit
