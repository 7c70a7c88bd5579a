# SPDX-License-Identifier: MIT
# expect: accept
stdw [%r10-512], 1
mov %r0, 0
exit
