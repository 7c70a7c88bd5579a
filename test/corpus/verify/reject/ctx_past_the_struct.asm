# SPDX-License-Identifier: MIT
# expect: reject ctx_bounds 0
ldxw %r0, [%r1+116] # near: ldxw %r0, [%r1+76]
exit
