# SPDX-License-Identifier: MIT
# expect: accept
mov %r0, 1
stxw [%r1+68], %r0
stw [%r1+72], 2
exit
