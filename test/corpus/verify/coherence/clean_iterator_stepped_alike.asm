# SPDX-License-Identifier: MIT
# All ranks take the same numbers.
# expect: accept
mov %r7, %r1
ldxw %r8, [%r1+64]
iter_new -8, 0, 100
iter_next -8
mov %r9, %r0
jeq %r8, 0, go
go:
iter_next -8
mov %r6, 0
jeq %r9, 0, done
ldxw %r6, [%r9]
done:
stxw [%r7+76], %r6
iter_end -8
mov %r0, 0
exit
