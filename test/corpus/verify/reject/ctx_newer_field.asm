# SPDX-License-Identifier: MIT
# golden
# expect: reject ctx_newer 0
ldxw %r0, [%r1+104] # near: ldxw %r0, [%r1+76]
exit
