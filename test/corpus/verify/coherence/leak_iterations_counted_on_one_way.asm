# SPDX-License-Identifier: MIT
# As many loops were begun on both ways, but on one they took more iterations.
# expect: reject local_output 31
# flow: loop count
mov %r6, %r1
ldxw %r1, [%r6+64] # near: ldxw %r1, [%r6+60]
and %r1, 255
bpf_loop cb
ldxw %r7, [%r6+28]
mov %r1, 1
jeq %r7, 3, more
ja s
more:
mov %r1, 1200000
s:
bpf_loop cb
mov %r7, 0
mov %r0, 0
ldxw %r2, [%r6+32]
jeq %r2, 0, on
mov %r2, 0
on:
mov %r2, 0
ldxw %r1, [%r6+28]
and %r1, 0xfffff
bpf_loop cb
stxw [%r6+76], %r0
mov %r0, 0
exit
