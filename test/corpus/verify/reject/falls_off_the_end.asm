# SPDX-License-Identifier: MIT
# expect: reject fall_off 0
mov %r0, 0
# near: exit
