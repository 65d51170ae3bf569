"""kpd completion: prints the script that lets a shell complete kpd's command lines.

The script for bash is argcomplete's. Those for zsh and fish are here: they pass the text before the cursor to kpd
itself, and complete files where kpd offers nothing.
"""

from argparse import ArgumentParser, Namespace

from kpd.cli.exit_codes import OK
from kpd.cli.terminal_text import out

ZSH = """\
#compdef kpd
_kpd() {
    local line name
    local -a found
    local -x _ARGCOMPLETE=1 _ARGCOMPLETE_SHELL=fish _ARGCOMPLETE_SUPPRESS_SPACE=1
    local -x _ARGCOMPLETE_DFS=$'\\t' _ARGCOMPLETE_IFS=$'\\n'
    local -x COMP_LINE="${(j: :)words[1,CURRENT-1]} $QIPREFIX$PREFIX"
    local -x COMP_POINT=${#COMP_LINE}
    for line in "${(@f)$("${(Q)words[1]}" 8>&1 9>/dev/null 1>/dev/null 2>&1 </dev/null)}"; do
        name=${${${line%%$'\\t'*}//\\\\/\\\\\\\\}//:/\\\\:}
        [[ -n $name ]] && found+=("$name:${line#*$'\\t'}")
    done
    if (( $#found )); then _describe kpd found; else _files; fi
}
if [[ $zsh_eval_context == *func ]]; then _kpd "$@"; else compdef _kpd kpd; fi
"""
FISH = """\
function __kpd_complete
    set -lx _ARGCOMPLETE 1
    set -lx _ARGCOMPLETE_SHELL fish
    set -lx _ARGCOMPLETE_SUPPRESS_SPACE 1
    set -lx _ARGCOMPLETE_DFS \\t
    set -lx _ARGCOMPLETE_IFS \\n
    set -lx COMP_LINE (commandline -cp | string collect)
    set -lx COMP_POINT (string length -- $COMP_LINE)
    set -l words (commandline -opc)
    set -l found ($words[1] 8>&1 9>/dev/null 1>/dev/null 2>&1 </dev/null)
    if set -q found[1]
        printf '%s\\n' $found
    else
        __fish_complete_path (commandline -ct)
    end
end
complete --command kpd --no-files --arguments '(__kpd_complete)'
"""


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell")
    parser.epilog = 'In ~/.bashrc or ~/.zshrc, after compinit: eval "$(kpd completion bash)"; fish: … | source'


def execute(args: Namespace) -> int:
    out(script(args.shell))
    return OK


def script(shell: str) -> str:
    """Return the script that `shell`, one of bash, zsh and fish, is to read once."""
    if shell == "bash":
        from argcomplete.shell_integration import shellcode

        return shellcode(["kpd"], shell="bash")
    return {"zsh": ZSH, "fish": FISH}[shell]
