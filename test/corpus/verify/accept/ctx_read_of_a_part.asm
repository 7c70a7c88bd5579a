# SPDX-License-Identifier: MIT
# expect: accept
ldxb %r0, [%r1+9]
exit
