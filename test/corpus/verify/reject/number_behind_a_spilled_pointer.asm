# SPDX-License-Identifier: MIT
# The iterator says which number it is, not the pointer on the stack.
# expect: reject map_bounds 28
ldxw %r7, [%r1+28]
and %r7, 1023 # near: and %r7, 1
lookup @counts
jne %r0, 0, +2
mov %r0, 0
exit
mov %r9, %r0
mov %r6, 0
iter_new -24, 0, %r7
iter_next -24
stxdw [%r10-8], %r0
jeq %r0, 0, out
ldxw %r6, [%r0]
out:
iter_end -24
add %r9, %r6
ldxb %r0, [%r9]
mov %r0, 0
exit
