//! Which fields of a request an expression in CEL reads.

use cel::{
    IdedExpr as Expression,
    common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators},
};

/// The variables of a webhook's conditions.
const ROOTS: [&str; 4] = ["object", "oldObject", "request", "authorizer"];
/// Fields of objects that API servers write at the creation, or that follow from the URL of the request.
const WRITTEN_BY_SERVERS: [&str; 9] = [
    "object.apiVersion",
    "object.kind",
    "object.metadata.creationTimestamp",
    "object.metadata.generation",
    "object.metadata.managedFields",
    "object.metadata.namespace",
    "object.metadata.resourceVersion",
    "object.metadata.uid",
    "object.status",
];
/// The fields of a request that users choose, beside its object.
const CHOSEN_IN_REQUESTS: [&str; 2] = ["request.name", "request.options"];
/// The step of a path that stands for each element of a list, and each value of an object.
const EACH: &str = "*";

/// A field that an expression reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read {
    /// The path from a variable on, as `["object", "spec", "containers", "*", "image"]`. `request.object` is `object`.
    path: Vec<String>,
    /// Whether only its presence is asked for, with `has(…)`.
    is_test: bool,
}

impl Read {
    /// Returns whether it depends on the field at `path`, such as `object.spec.containers.*.image`.
    pub fn overlaps(&self, path: &str) -> bool {
        let (mut own, mut other) = (self.path.iter(), path.split('.'));
        loop {
            match (own.next(), other.next()) {
                (Some(step), Some(other)) if step == other => {}
                (Some(_), Some(_)) => return false,
                // Whether a field is there does not depend on what is in it.
                (None, Some(_)) => return !self.is_test,
                (_, None) => return true,
            }
        }
    }

    /// Returns whether the user who sends the request chooses what it reads.
    pub fn is_chosen_by_users(&self) -> bool {
        let is_below = |path: &&str| {
            let mut own = self.path.iter();
            path.split('.').all(|step| own.next().is_some_and(|own| own == step))
        };
        self.is_of("object") && !WRITTEN_BY_SERVERS.iter().any(&is_below) || CHOSEN_IN_REQUESTS.iter().any(is_below)
    }

    /// Returns whether it reads this variable.
    pub fn is_of(&self, variable: &str) -> bool {
        self.path.first().is_some_and(|root| root == variable)
    }

    /// Returns the beginning of its path, of at most this many steps: `object.metadata.labels`.
    pub fn first_steps(&self, most: usize) -> String {
        self.path.iter().take(most).map(String::as_str).collect::<Vec<_>>().join(".")
    }

    /// Returns its path for people: `spec.containers.*.image`.
    pub fn path(&self) -> String {
        self.path.join(".")
    }
}

/// Returns what an expression reads. A computed index reads everything that it is applied to.
pub fn reads(expression: &Expression) -> Vec<Read> {
    let mut reader = Reader::default();
    reader.read(expression);
    reader.found
}

#[derive(Default)]
struct Reader {
    found: Vec<Read>,
    /// The variables of the comprehensions around an expression, each with the path of what it stands for, if it stands
    /// for a part of the request.
    variables: Vec<(String, Option<Vec<String>>)>,
}

impl Reader {
    fn read(&mut self, expression: &Expression) {
        if let Some(path) = self.path(expression) {
            let is_test = matches!(&expression.expr, Expr::Select(select) if select.test);
            self.found.push(Read { path, is_test });
            return;
        }
        match &expression.expr {
            Expr::Call(call) => {
                call.target.iter().for_each(|target| self.read(target));
                call.args.iter().for_each(|argument| self.read(argument));
            }
            Expr::Select(select) => self.read(&select.operand),
            Expr::List(list) => list.elements.iter().for_each(|element| self.read(element)),
            Expr::Map(map) => map.entries.iter().for_each(|entry| self.read_entry(&entry.expr)),
            Expr::Struct(object) => object.entries.iter().for_each(|entry| self.read_entry(&entry.expr)),
            Expr::Comprehension(comprehension) => self.read_comprehension(comprehension),
            // A variable that no request has.
            Expr::Ident(name) if !self.variables.iter().any(|(own, _)| own == name) => {
                self.found.push(Read { path: vec![name.clone()], is_test: false });
            }
            Expr::Ident(_) | Expr::Literal(_) | Expr::Unspecified => {}
        }
    }

    fn read_entry(&mut self, entry: &EntryExpr) {
        match entry {
            EntryExpr::StructField(field) => self.read(&field.value),
            EntryExpr::MapEntry(entry) => {
                self.read(&entry.key);
                self.read(&entry.value);
            }
        }
    }

    /// Reads `list.all(element, …)` and the like: the element stands for each of the list. Of an object, it is the key,
    /// with which the object is indexed.
    fn read_comprehension(&mut self, it: &ComprehensionExpr) {
        let range = self.path(&it.iter_range);
        match &range {
            // Of the request's own variables, every key counts.
            Some(path) if path.len() < 2 => self.found.push(Read { path: path.clone(), is_test: false }),
            // Whether there are elements depends on the list itself.
            Some(path) => self.found.push(Read { path: path.clone(), is_test: true }),
            None => self.read(&it.iter_range),
        }
        let known = self.variables.len();
        let element = range.map(|path| path.into_iter().chain([EACH.to_owned()]).collect());
        self.variables.push((it.iter_var.clone(), element.clone()));
        self.variables.extend(it.iter_var2.clone().map(|name| (name, element)));
        self.variables.push((it.accu_var.clone(), None));
        for part in [&it.accu_init, &it.loop_cond, &it.loop_step, &it.result] {
            self.read(part);
        }
        self.variables.truncate(known);
    }

    /// Returns the path of a field of the request, if the expression is one.
    fn path(&self, expression: &Expression) -> Option<Vec<String>> {
        let below = |operand: &Expression, step: &str| {
            let mut path = self.path(operand)?;
            let is_object = path == ["request"] && ["object", "oldObject"].contains(&step);
            if is_object {
                path.clear();
            }
            path.push(step.to_owned());
            Some(path)
        };
        match &expression.expr {
            Expr::Ident(name) => match self.variables.iter().rev().find(|(own, _)| own == name) {
                Some((_, path)) => path.clone(),
                None => ROOTS.contains(&name.as_str()).then(|| vec![name.clone()]),
            },
            Expr::Select(select) => below(&select.operand, &select.field),
            Expr::Call(call) => match (call.func_name.as_str(), call.args.as_slice()) {
                (operators::OPT_SELECT | operators::INDEX | operators::OPT_INDEX, [operand, index]) => {
                    match &index.expr {
                        Expr::Literal(LiteralValue::String(key)) => below(operand, key.inner()),
                        Expr::Literal(LiteralValue::Int(_) | LiteralValue::UInt(_)) => below(operand, EACH),
                        _ => None,
                    }
                }
                _ => None,
            },
            _ => None,
        }
    }
}
