# SPDX-License-Identifier: MIT
# expect: reject ctx_field 1
mov %r0, 0
stxdw [%r1+72], %r0
exit
