# SPDX-License-Identifier: MIT
# expect: accept
ldxw %r0, [%r1+76]
exit
