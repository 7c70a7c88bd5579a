# SPDX-License-Identifier: MIT
# Some ranks take a number more: the pointer of all shows the latest one.
# expect: reject local_output 18
# flow: loop count
mov %r7, %r1
ldxw %r8, [%r1+64] # near: ldxw %r8, [%r1+60]
iter_new -8, 0, 100
iter_next -8
mov %r9, %r0
jeq %r8, 0, same
iter_next -8
same:
mov %r6, 0
jeq %r9, 0, done
ldxw %r6, [%r9]
done:
stxw [%r7+76], %r6
iter_end -8
mov %r0, 0
exit
