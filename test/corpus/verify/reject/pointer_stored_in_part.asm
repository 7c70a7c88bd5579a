# SPDX-License-Identifier: MIT
# expect: reject pointer_store 0
stxw [%r10-8], %r1
mov %r0, 0
exit
