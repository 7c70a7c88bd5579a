# SPDX-License-Identifier: MIT
# expect: reject helper_unknown 0
call 4242 # near: call 5
exit
