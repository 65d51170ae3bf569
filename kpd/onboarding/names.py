"""What a name is worth at a place in a source: constants, variables that are set once, parameters of a known launch."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from kpd.onboarding import values
from kpd.onboarding.changes import ASSIGNS, Change, changes
from kpd.onboarding.expressions import evaluate
from kpd.onboarding.scopes import Binding, Scope
from kpd.onboarding.source import Source
from kpd.onboarding.tokens import Token, closing, split, template_end
from kpd.onboarding.values import Record, Unknown, Value

MOST_STEPS = 20_000


@dataclass(slots=True)
class _Steps:
    left: int = MOST_STEPS


@dataclass(frozen=True, slots=True)
class Names:
    """Names as they are at the token `at` of `source`, in a launch whose scalars are `known`.

    `frame` holds what the parameters of functions under way are, `record` the value of every `const kpd_case *`.
    """

    source: Source
    at: int
    known: Mapping[str, int | float] = field(default_factory=dict)
    record: Record | None = None
    frame: Mapping[int, Value] = field(default_factory=dict)
    steps: _Steps = field(default_factory=_Steps)

    def value(self, tokens: Sequence[Token]) -> Value:
        """The expression that stands there. Raises Unknown."""
        try:
            return evaluate(tokens, self)
        except RecursionError:
            raise Unknown("it goes in circles, or is nested too deeply") from None

    def word(self, path: Sequence[str]) -> Value:
        self._step()
        name = path[-1]
        if name in self.source.read.opaque:
            raise Unknown(self.source.read.opaque[name])
        found = self.source.qualified(path) if len(path) > 1 else self.source.find(name, self.at)
        if not found:
            if len(path) == 1 and name in self.known:
                return self.known[name]
            raise Unknown(f"nothing here says what {'::'.join(path)} is")
        if len(found) > 1:
            places = " and ".join(binding.place for binding in found[:3])
            raise Unknown(f"{name} is declared more than once, at {places}")
        if not self.source.certain(found[0].at, self.at):
            raise Unknown(f"{name} is declared in some builds only, at {found[0].place}")
        return self._bound(found[0])

    def field(self, path: Sequence[str]) -> Value:
        self._step()
        base, name = path[0], path[-1]
        if len(path) == 2 and (found := self.source.find(base, self.at)) and len(found) == 1:
            set_at = [at for at, part in self._changes(found[0]) if part in (name, "")]
            if set_at:
                return self._straight(set_at, f"{base}.{name}")
        if name in self.known:
            return self.known[name]
        raise Unknown(f"nothing here says what {'.'.join(path)} is")

    def call(self, path: Sequence[str], template: Sequence[Sequence[Token]], given: Sequence[Value]) -> Value:
        self._step()
        name = path[-1]
        found = [one for one in self.source.functions(name, self.at) if len(one.named("parameter")) == len(given)]
        if not found:
            return values.builtin(name, given)
        if len(found) > 1:
            raise Unknown(f"there is more than one {name}()")
        function = found[0]
        body = self.source.tokens[function.start + 1 : function.end]
        if [token.text for token in body[:1]] != ["return"] or body[-1].text != ";" or len(split(body, ";")) != 2:
            raise Unknown(f"{name}() does more than return an expression")
        inner = replace(self, at=function.start + 1, frame=self._entered(function, template, given))
        return inner._returned(function, inner.value(body[1:-1]))

    def _entered(
        self, function: Scope, template: Sequence[Sequence[Token]], given: Sequence[Value]
    ) -> dict[int, Value]:
        frame = dict(self.frame)
        for binding, value in zip(function.named("parameter"), given, strict=True):
            frame[binding.at] = values.converted(binding.type, value)
        for binding, part in zip(function.named("template"), template, strict=False):
            if not binding.type.startswith(("typename", "class")):
                frame[binding.at] = self.value(part)
        return frame

    def _returned(self, function: Scope, value: Value) -> Value:
        """As the type that the function returns, where its head says which."""
        head = function.head
        name = next((index for index, token in enumerate(head) if token.text == function.name), 0)
        start = template_end(head, 1) or 0 if head and head[0].text == "template" else 0
        words = [token.text for token in head[start:name] if token.kind == "word" and not token.text.startswith("__")]
        return values.converted(" ".join(words), value)

    def _bound(self, binding: Binding) -> Value:
        if binding.at in self.frame:
            return self.frame[binding.at]
        if binding.kind == "template":
            return self._instantiated(binding)
        if binding.kind == "parameter":
            return self._parameter(binding)
        if binding.kind in ("function", "type"):
            raise Unknown(f"{binding.name} is no value")
        try:
            return self._variable(binding)
        except Unknown:
            if binding.name in self.known and not self._changes(binding):
                return self.known[binding.name]
            raise

    def _parameter(self, binding: Binding) -> Value:
        owner = self.source.owners[binding.at]
        where = f"{owner.name}()" if owner.name else "a function without a name"
        if self.record is not None and re.search(r"\bkpd_case\b", binding.type):
            return self.record
        if binding.name not in self.known:
            raise Unknown(f"{binding.name} is a parameter of {where}")
        if self._changes(binding):
            raise Unknown(f"{binding.name} is changed in {where}, so the observed value may be another")
        return self.known[binding.name]

    def _variable(self, binding: Binding) -> Value:
        if "[]" in binding.type:
            raise Unknown(f"{binding.name} is an array, and none of its elements is followed here")
        set_at = [] if binding.constant else self._changes(binding)
        whole = [at for at, part in set_at if not part]
        if whole and binding.style:
            raise Unknown(f"{binding.name} is set again, at {self._places(whole)}")
        if not whole and not binding.constant and not binding.local:
            raise Unknown(f"{binding.name} is neither const nor static: it may be set elsewhere")
        value = self._straight(whole, binding.name) if whole else self._initial(binding)
        value = values.converted(binding.type, value) if whole else value
        for part in ("x", "y", "z"):
            of_part = [at for at, name in set_at if name == part]
            if of_part and isinstance(value, values.Dim3):
                size = values.integer(self._straight(of_part, f"{binding.name}.{part}"))
                if whole and of_part[0] < whole[0]:
                    raise Unknown(f"{binding.name} is set more than once, at {self._places([*of_part, *whole])}")
                value = value._replace(**{part: size})
        return value

    def _initial(self, binding: Binding) -> Value:
        here = replace(self, at=binding.at)
        kind = values.kind_of(binding.type)
        if "&" in binding.type and len(binding.value) == 1:
            self._refuse_reference(binding, binding.value[0].text)
        if kind == "dim3" and binding.style in ("", "(", "{"):
            return values.dim3([here.value(part) for part in split(binding.value)])
        if kind == "dim3" and [token.text for token in binding.value[:1]] == ["{"]:
            return values.dim3([here.value(part) for part in split(binding.value[1:-1])])
        if binding.kind == "enumerator" and not binding.value:
            return 0
        if not binding.style:
            raise Unknown(f"{binding.name} has no value where it is declared, at {binding.place}")
        braced = [token.text for token in binding.value[:1]] == ["{"]
        return values.converted(binding.type, here.value(binding.value[1:-1] if braced else binding.value))

    def _refuse_reference(self, binding: Binding, name: str) -> None:
        """Raises Unknown for another name of a variable that may change under it."""
        if any(one.kind == "variable" and not one.constant for one in self.source.find(name, binding.at)):
            raise Unknown(f"{binding.name} is another name for {name}, which may change")

    def _places(self, changes: Sequence[int]) -> str:
        return ", ".join(self.source.tokens[at].place for at in changes[:4])

    def _straight(self, changes: Sequence[int], name: str) -> Value:
        """What the one assignment sets that all pass before they come here. Raises Unknown for any other case."""
        tokens, places = self.source.tokens, self._places(changes)
        if len(changes) > 1:
            raise Unknown(f"{name} is set more than once, at {places}")
        at = assignment = changes[0]
        while tokens[assignment].text not in ASSIGNS and assignment < min(at + 4, len(tokens) - 1):
            assignment += 1
        around = list(self.source.scope(self.at).outwards)
        straight = at < self.at and self.source.scope(at) in around and self.source.certain(at, self.at)
        if tokens[assignment].text != "=" or not straight:
            raise Unknown(f"{name} may be changed at {places}")
        end = assignment + 1
        while end < len(tokens) and tokens[end].text != ";":
            end = closing(tokens, end) + 1 if tokens[end].text in ("(", "[", "{") else end + 1
        return replace(self, at=assignment).value(tokens[assignment + 1 : end])

    def _changes(self, binding: Binding) -> list[Change]:
        return changes(self.source, binding, self.at, self._step)

    def _instantiated(self, binding: Binding) -> Value:
        """A template's parameter, where all uses of the template in this source give the same value."""
        owner = self.source.owners[binding.at]
        if binding.type.startswith(("typename", "class")):
            raise Unknown(f"{binding.name} is a template parameter")
        position = owner.named("template").index(binding)
        said = f"{binding.name} is a template parameter of {owner.name}()"
        if sum(one.kind == "function" and one.name == owner.name for one in self.source.top.everything()) > 1:
            raise Unknown(f"{said}, and there is more than one of that name")
        found: set[Value] = set()
        for at in self.source.words.get(owner.name, ()):
            if owner.start - len(owner.head) <= at < owner.end or self.source.text(at + 1) not in ("<", "("):
                continue
            end = template_end(self.source.tokens, at + 1) if self.source.text(at + 1) == "<" else None
            given = split(self.source.tokens[at + 2 : end - 1]) if end is not None else []
            if position >= len(given):
                raise Unknown(f"{said}, and {self.source.tokens[at].place} does not say which")
            try:
                found.add(replace(self, at=at, frame={}).value(given[position]))
            except Unknown as err:
                raise Unknown(f"{said}: {err}") from err
        if len(found) != 1:
            many = ", ".join(sorted(map(str, found)))
            raise Unknown(f"{said}, which is used with {many}" if found else f"{said}, which nothing here uses")
        return found.pop()

    def _step(self) -> None:
        self.steps.left -= 1
        if self.steps.left < 0:
            raise Unknown("it takes too many steps to work out")
