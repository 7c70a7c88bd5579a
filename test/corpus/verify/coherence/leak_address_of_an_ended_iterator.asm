# SPDX-License-Identifier: MIT
# The iterator's number was behind this address, which is a plain number now.
# expect: reject local_output 13
# flow: copy
mov %r6, %r1
iter_new -8, 0, 4
iter_next -8
mov %r7, %r0 # near: mov %r7, 4
iter_end -8
stxw [%r6+76], %r7
mov %r0, 0
exit
