#compdef farectl farelab farebench fared fared-exporter
# SPDX-License-Identifier: BSD-2-Clause
# The functions of the bash completion, which ask the programs themselves, run under zsh.
autoload -Uz bashcompinit && bashcompinit
source /usr/share/bash-completion/completions/${words[1]:t}
_bash_complete -F _${${words[1]:t}//-/_}
