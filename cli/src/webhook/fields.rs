//! Which fields of a request an expression in CEL reads.

use cel::{
    IdedExpr as Expression,
    common::ast::{ComprehensionExpr, EntryExpr, Expr, LiteralValue, operators},
};

/// The variables of a webhook's conditions.
const ROOTS: [&str; 4] = ["object", "oldObject", "request", "authorizer"];
/// Those that are objects.
const OBJECTS: [&str; 2] = ["object", "oldObject"];
/// Fields that API servers write before they ask webhooks, or that follow from the URL of the request.
const WRITTEN_BY_SERVERS: [&str; 6] = [
    "apiVersion",
    "kind",
    "metadata.creationTimestamp",
    "metadata.namespace",
    "metadata.resourceVersion",
    "metadata.uid",
];
/// Fields that only servers write, but that a manifest may contain when it is created: webhooks see it so.
const WRITTEN_LATER: [&str; 4] = ["metadata.deletionTimestamp", "metadata.generation", "spec.nodeName", "status"];
/// The field of which users choose a part: the name of a ServiceAccount.
pub const PART_OF_USERNAME: &str = "request.userInfo.username";
/// What users choose of a request beside its object.
const CHOSEN_IN_REQUESTS: [&str; 3] = ["name", "options", "userInfo.username.*"];
/// Functions that look at a part of a text, and not at its beginning.
const OF_PARTS: [&str; 3] = ["contains", "endsWith", "matches"];
/// What stands in a path for each element of a list, and each value of an object.
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

    /// Returns whether a user chooses what it reads: the one who sends the request, or of the old object an earlier one.
    pub fn is_chosen_by_users(&self) -> bool {
        let Some((root, own)) = self.path.split_first() else { return false };
        let is_below = |field: &&str| {
            let mut own = own.iter();
            field.split('.').all(|step| own.next().is_some_and(|own| own == step))
        };
        let is_written = WRITTEN_BY_SERVERS.iter().any(is_below);
        match root.as_str() {
            "object" => !is_written,
            // Whether there is one depends on the operation.
            "oldObject" => !own.is_empty() && !is_written && !WRITTEN_LATER.iter().any(is_below),
            "request" => CHOSEN_IN_REQUESTS.iter().any(is_below),
            _ => false,
        }
    }

    /// Returns whether both read the same field, one of the object and one of the old object.
    pub fn is_counterpart_of(&self, other: &Self) -> bool {
        let (Some((root, own)), Some((other_root, other))) = (self.path.split_first(), other.path.split_first()) else {
            return false;
        };
        own == other && root != other_root && [root, other_root].iter().all(|root| OBJECTS.contains(&root.as_str()))
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
                let path = call.target.as_ref().and_then(|target| self.path(target));
                let of_username = path.filter(|path| path.join(".") == PART_OF_USERNAME);
                if let Some(path) = of_username.filter(|_| OF_PARTS.contains(&call.func_name.as_str())) {
                    let path = path.into_iter().chain([EACH.to_owned()]).collect();
                    self.found.push(Read { path, is_test: false });
                }
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
            let is_object = path == ["request"] && OBJECTS.contains(&step);
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
