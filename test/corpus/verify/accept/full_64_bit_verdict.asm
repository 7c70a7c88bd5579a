# SPDX-License-Identifier: MIT
# expect: accept
lddw %r0, 0x123456789abcdef0
exit
