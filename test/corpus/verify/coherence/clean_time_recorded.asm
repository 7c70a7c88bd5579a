# SPDX-License-Identifier: MIT
# expect: accept
mov %r6, %r1
find @counts
mov %r7, %r0
call 5
stxdw [%r7], %r0
out:
stw [%r6+76], 4
mov %r0, 0
exit
