# SPDX-License-Identifier: MIT
# expect: accept
lookup @counts, 4
jne %r0, 0, out
exit
